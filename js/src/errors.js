/** Errors with messages for users. */

/** Base class of all errors of capsulet. */
export class CapsuletError extends Error {
  name = 'CapsuletError';
}

/** An argument is invalid. */
export class InputError extends CapsuletError {
  name = 'InputError';
}

/** The model is missing, damaged or unsupported. */
export class ModelError extends CapsuletError {
  name = 'ModelError';
}

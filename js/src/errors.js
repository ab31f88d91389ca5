/** What can go wrong, in words for people. */

/** Anything that capsulet says itself. */
export class CapsuletError extends Error {
  name = 'CapsuletError';
}

/** The call or its texts are wrong. */
export class InputError extends CapsuletError {
  name = 'InputError';
}

/** The model is missing, damaged or of another kind. */
export class ModelError extends CapsuletError {
  name = 'ModelError';
}

/** Labels come with probabilities, or with class lengths. */
export type Measure = 'probability' | 'length';

/** A label and its probability: calibrated if the model has a calibration. With `lengths: true` its class length, 0 to 1. */
export type LabelNumber<Name extends Measure = 'probability'> = { label: string } & Record<Name, number>;

/** The labels of a text, with the probability or the class length of the best one. */
export type Prediction<Name extends Measure = 'probability'> = Record<Name, number> & {
  /** The best label; null if the model abstains. */
  label: string | null;
  /** The `topK` best labels, best first. */
  top: LabelNumber<Name>[];
  /** Multi-label model: the labels that reach their thresholds, best first. Otherwise null. */
  labels: LabelNumber<Name>[] | null;
  /** With `sets`: labels that contain the true one with this probability, most probable first. Otherwise null. */
  labelSet: string[] | null;
  /** Why the model abstains; empty if it does not. */
  reason: '' | 'low confidence' | 'unknown words';
};

/** A token: `text.slice(start, end)`. */
export interface Token {
  text: string;
  /** In UTF-16 units. */
  start: number;
  end: number;
  /** The known word as which an unknown word is read. */
  readAs: string | null;
}

/** A token and its contribution to a class. */
export interface TokenContribution extends Token {
  contribution: number;
}

/** Difference between two labels: contributions to the explained label minus those to this label. */
export interface Contrast {
  label: string;
  probability: number;
  /** Class length of this label. */
  length: number;
  lengthBeforeSquash: number;
  tokens: TokenContribution[];
}

/** Contributions of the tokens of a text to a label; they sum to `lengthBeforeSquash`. */
export interface Explanation {
  label: string;
  /** As `predict` returns it. */
  probability: number;
  /** Class length. */
  length: number;
  /** Length of the class capsule before squash; with a linear head or without a network the logit. */
  lengthBeforeSquash: number;
  /** Part of the n-gram features in the contributions. */
  ngrams: number;
  tokens: TokenContribution[];
  /** With `contrast`. */
  contrast: Contrast | null;
}

export interface PredictOptions {
  /** Number of labels in `top`; default 1. */
  topK?: number;
  /** Class lengths instead of probabilities. */
  lengths?: boolean;
  /** Give no label to texts unlike the training texts. */
  abstain?: boolean;
  /** Answer at least this share of texts, and abstain on the others. */
  coverage?: number;
  /** Abstain so that at most this share of the answers is wrong. */
  maxError?: number;
  /** Add label sets that contain the true label with at least this probability. */
  sets?: number;
}

export interface LoadOptions {
  /** Arithmetic of the network; default int8, which gives the same numbers on every machine. */
  precision?: 'int8' | 'float32';
}

/** A model file: bytes, a File, a Response, a stream, a URL, or in Node a path. */
export type Source = ArrayBuffer | ArrayBufferView | Blob | Response | ReadableStream<Uint8Array> | URL | string;

/** Loads a model file. */
export function load(source: Source | Promise<Source>, options?: LoadOptions): Promise<Classifier>;

/** A trained model; `load` makes one. */
export class Classifier {
  private constructor();
  /** File name or URL, for messages. */
  readonly name: string;
  /** Size of the file in bytes. */
  readonly size: number;
  /** The configuration in the file. */
  readonly config: Record<string, any>;
  readonly labels: string[];
  /** Number of known words. */
  readonly wordCount: number;
  readonly precision: 'int8' | 'float32';
  /** Whether probabilities are calibrated. */
  readonly calibrated: boolean;
  /** Whether a text may have any number of labels. */
  readonly multiLabel: boolean;
  /** False: the model has n-gram features only. */
  readonly hasNetwork: boolean;
  /** Multi-label model: the smallest class length at which each label is predicted. */
  readonly thresholds: number[];
  /** Multi-label model: the smallest probability at which each label is predicted. */
  readonly probabilityThresholds: number[];

  /** Predicts the labels of texts. */
  predict(texts: Iterable<string>, options: PredictOptions & { lengths: true }): Promise<Prediction<'length'>[]>;
  predict(texts: Iterable<string>, options?: PredictOptions): Promise<Prediction[]>;
  /** Predicts the labels of texts while they arrive, in order. */
  predictStream(
    texts: AsyncIterable<string> | Iterable<string>,
    options: PredictOptions & { lengths: true },
  ): AsyncGenerator<Prediction<'length'>, void, void>;
  predictStream(texts: AsyncIterable<string> | Iterable<string>, options?: PredictOptions): AsyncGenerator<Prediction, void, void>;
  /** Class lengths of each text, in the order of `labels`. */
  lengths(texts: Iterable<string>): Promise<Float32Array[]>;
  /** Tokens of a text, as the model reads them. */
  tokens(text: string): Promise<Token[]>;
  /** Contributions of the tokens of a text to a label (default: the predicted one), and their difference to `contrast`. */
  explain(text: string, options?: { label?: string; contrast?: string }): Promise<Explanation>;
  /** Releases the memory of the model, which cannot be used afterwards. */
  close(): Promise<void>;
}

/** Base class of all errors of capsulet. */
export class CapsuletError extends Error {}
/** An argument is invalid. */
export class InputError extends CapsuletError {}
/** The model is missing, damaged or unsupported. */
export class ModelError extends CapsuletError {}

/** A model file to a tokenizer, a configuration and a running graph. */
import { parseConfig, readsSimilar } from './config.js';
import { readDictionary } from './dictionary.js';
import { InferenceSession, Tensor } from './engine.js';
import { ModelError } from './errors.js';
import { Likeness } from './likeness.js';
import { checkDigest, CHOOSE, notAModel, readMetadata } from './metadata.js';
import { parseTokenizer, Tokenizer } from './tokens.js';

const INPUTS = ['ids', 'token_counts'];
const OUTPUTS = ['lengths', 'norms', 'contributions'];
const DICTIONARY = 'dictionary';
const PADDING = 0;

/** All that prediction needs. */
export class Session {
  /** The tokenizer and configuration are set when they are known. */
  constructor(graph, name) {
    this.graph = graph;
    this.name = name;
    /** @type {Tokenizer} */
    this.tokenizer = undefined;
    /** @type {ReturnType<typeof parseConfig>} */
    this.config = undefined;
  }

  /**
   * Outputs of these names for texts of these ids, padded to the longest.
   * @param {string[]} outputs
   * @param {number[][]} texts
   * @returns {Promise<Record<string, any>>} arrays of numbers
   */
  async run(outputs, texts) {
    const longest = Math.max(...texts.map((ids) => ids.length));
    const ids = new BigInt64Array(texts.length * longest).fill(BigInt(PADDING)); // (B, T)
    texts.forEach((text, row) => text.forEach((id, place) => { ids[row * longest + place] = BigInt(id); }));
    const counts = BigInt64Array.from(texts, (text) => BigInt(text.length)); // (B,)
    const inputs = {
      ids: new Tensor('int64', ids, [texts.length, longest]),
      token_counts: new Tensor('int64', counts, [texts.length]),
    };
    let found;
    try {
      found = await this.graph.run(inputs, outputs);
    } catch (error) {
      throw new ModelError(`${this.name} cannot be run (${reason(error)}): it is damaged, or memory is short`);
    }
    return Object.fromEntries(outputs.map((output) => [output, found[output].data]));
  }

  close() {
    return this.graph.release();
  }
}

/**
 * The parts of a model file, if it is one of ours and they fit together.
 * @param {Uint8Array} bytes
 * @param {string} name the model, for messages
 * @returns {Promise<Session>}
 */
export async function openSession(bytes, name) {
  const metadata = readMetadata(bytes, name);
  await checkDigest(bytes, name);
  const session = new Session(await start(bytes, name), name);
  try {
    await fill(session, metadata);
  } catch (error) {
    await session.close();
    throw error;
  }
  return session;
}

/** A graph that is ready to run, if it is one of ours. */
async function start(bytes, name) {
  let graph;
  try {
    graph = await InferenceSession.create(bytes, { executionProviders: ['wasm'], logSeverityLevel: 4 });
  } catch (error) {
    throw notAModel(name, reason(error));
  }
  const { inputNames: inputs, outputNames: outputs } = graph;
  if (inputs.length !== INPUTS.length || !INPUTS.every((input) => inputs.includes(input))
    || !OUTPUTS.every((output) => outputs.includes(output))) {
    await graph.release();
    const found = `inputs ${inputs.join(', ') || 'none'}; outputs ${outputs.join(', ')}`.slice(0, 200);
    throw new ModelError(`${name} is an ONNX model, but not a capsulet one (${found})`);
  }
  return graph;
}

/** Configuration and tokenizer from the metadata; words from the graph where a compressed file keeps them there. */
async function fill(session, metadata) {
  const { graph, name } = session;
  if (!metadata.has('capsulet.config') || !metadata.has('capsulet.tokenizer')) {
    throw new ModelError(`${name} has no tokenizer and labels inside: ${CHOOSE}`);
  }
  const config = parseConfig(metadata.get('capsulet.config'), name);
  let tokenizer = parseTokenizer(metadata.get('capsulet.tokenizer'), name);
  if (config.dictionary_words !== undefined && !graph.outputNames.includes(DICTIONARY)) {
    throw new ModelError(`${name} is damaged: it has lost its dictionary`);
  }
  // one unknown word, all outputs: a graph that cannot run is noticed here
  const found = await session.run(config.dictionary_words !== undefined ? [...OUTPUTS, DICTIONARY] : OUTPUTS, [[tokenizer.unknown]]);
  if (config.dictionary_words !== undefined) {
    const words = await readDictionary(found[DICTIONARY], config.dictionary_words, name);
    tokenizer = new Tokenizer(new Map([...tokenizer.vocabulary, ...words]), tokenizer.unknown, tokenizer.maxTokens);
  }
  const known = tokenizer.vocabulary.size, size = config.vocab_size, classes = found.lengths.length;
  if (known !== size || classes !== config.labels.length) {
    throw new ModelError(
      `${name} is damaged: tokenizer of ${known} words and graph of ${classes} classes, expected ${size} and ` +
      `${config.labels.length}; its parts are of different models`);
  }
  if (readsSimilar(config)) tokenizer.likeness = new Likeness(tokenizer.vocabulary);
  session.config = config;
  session.tokenizer = tokenizer;
}

/** The first line of what the runtime says, without its own preface. */
function reason(error) {
  return String(error?.message ?? error).replace(/^.*ERROR_MESSAGE: /s, '').split('\n')[0].slice(0, 120);
}

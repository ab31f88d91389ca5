/** A loaded model: tokenizer, configuration and graph. */
import { parseConfig, readsSimilar } from './config.js';
import { InferenceSession, Tensor } from './engine.js';
import { ModelError } from './errors.js';
import { checkDigest, CHOOSE, notAModel, readMetadata } from './metadata.js';
import { SimilarWords } from './similar_words.js';
import { parseTokenizer, Tokenizer } from './tokens.js';
import { readWordList } from './word_list.js';

const INPUTS = ['ids', 'token_counts'];
const OUTPUTS = ['lengths', 'norms', 'contributions'];
const WORD_LIST = 'dictionary'; // output of the graph of a compressed file
const PADDING = 0;

/** Everything that prediction needs. */
export class Session {
  /** `fill` sets the tokenizer and the configuration. */
  constructor(graph, name) {
    this.graph = graph;
    this.name = name;
    /** @type {Tokenizer} */
    this.tokenizer = undefined;
    /** @type {ReturnType<typeof parseConfig>} */
    this.config = undefined;
  }

  /**
   * Run the graph on a batch of texts, padded to the longest.
   * @param {string[]} outputs names of the outputs to compute
   * @param {number[][]} texts ids of each text
   * @returns {Promise<Record<string, any>>} values by output name
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
    let values;
    try {
      values = await this.graph.run(inputs, outputs);
    } catch (error) {
      throw new ModelError(`${this.name} cannot be run (${reason(error)}): the file is damaged, or there is too little memory`);
    }
    return Object.fromEntries(outputs.map((output) => [output, values[output].data]));
  }

  close() {
    return this.graph.release();
  }
}

/**
 * Open a model file and check that its parts belong together.
 * @param {Uint8Array} bytes
 * @param {string} name name of the model, for messages
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

/** Start the graph and check that it is a capsulet model. */
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
    const names = `inputs ${inputs.join(', ') || 'none'}; outputs ${outputs.join(', ')}`.slice(0, 200);
    throw new ModelError(`${name} is an ONNX model, but not a capsulet one (${names}): ${CHOOSE}`);
  }
  return graph;
}

/** Read configuration and tokenizer from the metadata. A compressed file keeps its words in the graph. */
async function fill(session, metadata) {
  const { graph, name } = session;
  if (!metadata.has('capsulet.config') || !metadata.has('capsulet.tokenizer')) {
    throw new ModelError(`${name} has no tokenizer and labels in its metadata: ${CHOOSE}`);
  }
  const config = parseConfig(metadata.get('capsulet.config'), name);
  let tokenizer = parseTokenizer(metadata.get('capsulet.tokenizer'), name);
  if (config.dictionary_words !== undefined && !graph.outputNames.includes(WORD_LIST)) {
    throw new ModelError(`${name} is damaged: its word list is missing; compress the model again`);
  }
  // run one unknown word, so that a graph that cannot run is refused here
  const values = await session.run(config.dictionary_words !== undefined ? [...OUTPUTS, WORD_LIST] : OUTPUTS, [[tokenizer.unknown]]);
  if (config.dictionary_words !== undefined) {
    const words = await readWordList(values[WORD_LIST], config.dictionary_words, name);
    tokenizer = new Tokenizer(new Map([...tokenizer.vocabulary, ...words]), tokenizer.unknown, tokenizer.maxTokens);
  }
  const known = tokenizer.vocabulary.size, size = config.vocab_size, classes = values.lengths.length;
  if (known !== size || classes !== config.labels.length) {
    throw new ModelError(
      `${name} is damaged: tokenizer of ${known} words and graph of ${classes} classes, expected ${size} and ` +
      `${config.labels.length}; its parts come from different models`);
  }
  if (readsSimilar(config)) tokenizer.similarWords = new SimilarWords(tokenizer.vocabulary);
  session.config = config;
  session.tokenizer = tokenizer;
}

/** The first line of an error of ONNX Runtime, without its prefix. */
function reason(error) {
  return String(error?.message ?? error).replace(/^.*ERROR_MESSAGE: /s, '').split('\n')[0].slice(0, 120);
}

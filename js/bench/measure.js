/** Measures class lengths and times of a model, in Node and in browsers. */

const WINDOW = 512; // texts per call

/**
 * Return the class lengths of all texts, texts per second, the time until the first answer and the median time per text.
 * @param {typeof import('../src/index.js').load} load
 * @param {import('../src/index.js').Source} source
 * @param {string[]} texts
 * @param {number} alone number of texts that are also predicted one by one
 */
export async function measure(load, source, texts, alone) {
  const started = performance.now();
  const model = await load(source);
  await model.predict([texts[0]]);
  const first = performance.now() - started;

  const single = [];
  for (const text of texts.slice(0, alone)) {
    const before = performance.now();
    await model.predict([text]);
    single.push(performance.now() - before);
  }
  single.sort((one, other) => one - other);

  const before = performance.now();
  const rows = [];
  for (let start = 0; start < texts.length; start += WINDOW) rows.push(...await model.lengths(texts.slice(start, start + WINDOW)));
  return {
    texts_per_second: (1000 * texts.length) / (performance.now() - before),
    lengths: rows.map((row) => [...row]),
    load_milliseconds: first,
    latency_milliseconds: single[Math.floor(single.length / 2)],
  };
}

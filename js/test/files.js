/** Changed model files with a correct checksum, so that the checksum does not hide other errors. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  return value;
});

function checksum(bytes) {
  let value = 0xffffffff;
  for (const byte of bytes) value = (value >>> 8) ^ TABLE[(value ^ byte) & 255];
  return (~value >>> 0).toString(16).padStart(8, '0');
}

/** Writes the checksum of a file, if its header still has a place for it. */
export function seal(bytes) {
  const mark = '"crc32":"', at = new TextDecoder('latin1').decode(bytes.subarray(0, 200)).indexOf(mark);
  if (at < 0 || at + mark.length + 8 > bytes.length) return bytes;
  const place = bytes.subarray(at + mark.length, at + mark.length + 8);
  place.set(new TextEncoder().encode('00000000'));
  place.set(new TextEncoder().encode(checksum(bytes)));
  return bytes;
}

/** Parts of a file: its header as an object, its configuration as an object, and all tensors but the configuration. */
export function parts(bytes) {
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  const tensors = new Map();
  for (const [name, { data_offsets: [begin, end] }] of Object.entries(header).filter(([key]) => key !== '__metadata__')) {
    tensors.set(name, bytes.slice(8 + size + begin, 8 + size + end));
  }
  return { header, config: JSON.parse(new TextDecoder().decode(tensors.get('config'))), tensors };
}

/** A file of these parts, with a new configuration. */
export function pack({ header, config, tensors }) {
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  const all = new Map(tensors).set('config', new TextEncoder().encode(text));
  const described = { __metadata__: header.__metadata__ };
  let place = 0;
  for (const [name, { dtype, shape }] of Object.entries(header).filter(([key]) => key !== '__metadata__')) {
    const { length } = all.get(name);
    described[name] = { dtype, shape: name === 'config' ? [length] : shape, data_offsets: [place, place + length] };
    place += length;
  }
  const json = new TextEncoder().encode(JSON.stringify(described)), start = Math.ceil((8 + json.length) / 64) * 64;
  const bytes = new Uint8Array(start + place).fill(32, 8, start);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(start - 8), true);
  bytes.set(json, 8);
  for (const [name, { data_offsets: [begin] }] of Object.entries(described).slice(1)) bytes.set(all.get(name), start + begin);
  return seal(bytes);
}

/** Random integers below a number, the same in every run. */
export function dice(seed) {
  let state = seed;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

/** Zip archives: the container of XLSX files. Every size is checked, so that a small file cannot fill the memory. */
import { PageError } from './element.js';

const LOCAL = 0x04034b50, CENTRAL = 0x02014b50, END = 0x06054b50;
const STORED = 0, DEFLATED = 8, ENCRYPTED = 1;
const MOST_ENTRIES = 10_000, MOST_COMMENT = 65_557;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  return value;
});

/** CRC-32 of bytes. */
export function checksum(bytes) {
  let value = 0xffffffff;
  for (let place = 0; place < bytes.length; place++) value = (value >>> 8) ^ TABLE[(value ^ bytes[place]) & 255];
  return ~value >>> 0;
}

const damaged = (problem) => new PageError(`the archive is damaged: ${problem}. Save the file again`);

/** Entries of an archive by name; their data stay compressed. */
export function readZip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && end > bytes.length - MOST_COMMENT && view.getUint32(end, true) !== END) end--;
  if (end < 0 || view.getUint32(end, true) !== END) throw damaged('its end is missing');
  const count = view.getUint16(end + 10, true), entries = new Map();
  if (count > MOST_ENTRIES) throw new PageError(`the archive has ${count} files, expected at most ${MOST_ENTRIES}`);
  try {
    let at = view.getUint32(end + 16, true);
    for (let index = 0; index < count; index++) {
      if (view.getUint32(at, true) !== CENTRAL) throw damaged('its list of files is broken');
      const [method, flags] = [view.getUint16(at + 10, true), view.getUint16(at + 8, true)];
      if (flags & ENCRYPTED) throw new PageError('the archive is encrypted: save the file without a password');
      const [crc, packedSize, size] = [16, 20, 24].map((place) => view.getUint32(at + place, true));
      const nameSize = view.getUint16(at + 28, true);
      const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameSize));
      const local = view.getUint32(at + 42, true);
      if (view.getUint32(local, true) !== LOCAL) throw damaged(`${name} is missing`);
      const from = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
      if (from + packedSize > bytes.length) throw damaged(`${name} is cut off`);
      entries.set(name, { name, method, crc, size, packed: bytes.subarray(from, from + packedSize) });
      at += 46 + nameSize + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    }
  } catch (error) {
    throw error instanceof RangeError ? damaged('it is cut off') : error;
  }
  return entries;
}

/** The bytes of an entry, at most `most` of them. */
export async function unpack({ name, method, crc, packed }, most) {
  if (method !== STORED && method !== DEFLATED) throw new PageError(`${name} has compression ${method}: save the file as XLSX again`);
  const parts = [];
  let total = 0;
  const stream = new Blob([packed]).stream();
  const reader = (method === STORED ? stream : stream.pipeThrough(new DecompressionStream('deflate-raw'))).getReader();
  try {
    for (let found = await reader.read(); !found.done; found = await reader.read()) {
      total += found.value.length;
      if (total > most) throw new PageError(`${name} has more than ${most >> 20} MB: split the file`);
      parts.push(found.value);
    }
  } catch (error) {
    throw error instanceof PageError ? error : damaged(`${name} cannot be unpacked`);
  } finally {
    reader.cancel().catch(() => {});
  }
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  if (checksum(bytes) !== crc) throw damaged(`${name} has a wrong checksum`);
  return bytes;
}

/** An entry with this content. */
export async function pack(name, text) {
  const bytes = new TextEncoder().encode(text);
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  return { name, method: DEFLATED, crc: checksum(bytes), size: bytes.length, packed };
}

/** Parts of an archive of entries. */
export function writeZip(entries) {
  const parts = [], central = [];
  let place = 0;
  for (const { name, method, crc, size, packed } of entries) {
    const letters = new TextEncoder().encode(name);
    // version, flags (names are UTF-8), method, time, date, checksum, sizes, sizes of name and extra field
    const common = (view, at) => {
      [[0, 20], [2, 0x800], [4, method], [6, 0], [8, 0x21]].forEach(([offset, value]) => view.setUint16(at + offset, value, true));
      [[10, crc], [14, packed.length], [18, size]].forEach(([offset, value]) => view.setUint32(at + offset, value, true));
      view.setUint16(at + 22, letters.length, true);
    };
    const head = new DataView(new ArrayBuffer(30)), listed = new DataView(new ArrayBuffer(46));
    head.setUint32(0, LOCAL, true);
    common(head, 4);
    listed.setUint32(0, CENTRAL, true);
    listed.setUint16(4, 20, true);
    common(listed, 6);
    listed.setUint32(42, place, true);
    parts.push(head.buffer, letters, packed);
    central.push(listed.buffer, letters);
    place += 30 + letters.length + packed.length;
  }
  const size = central.reduce((sum, part) => sum + part.byteLength, 0), end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, END, true);
  end.setUint16(8, entries.length, true);
  end.setUint16(10, entries.length, true);
  end.setUint32(12, size, true);
  end.setUint32(16, place, true);
  return [...parts, ...central, end.buffer];
}

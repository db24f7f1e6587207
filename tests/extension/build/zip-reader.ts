import { inflateRawSync } from 'node:zlib'

/**
 * Returns the files of a ZIP archive by name, in order. Supports stored and deflated entries but no ZIP64: ours are
 * small.
 */
export function readZip(archive: Buffer): Map<string, Buffer> {
  const end = archive.lastIndexOf(Buffer.from('PK\u0005\u0006', 'latin1'))
  if (end === -1) throw new Error('This is not a ZIP archive.')
  const files = new Map<string, Buffer>()
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const nameLength = archive.readUInt16LE(at + 28)
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength)
    const header = archive.readUInt32LE(at + 42)
    const start = header + 30 + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
    const data = archive.subarray(start, start + archive.readUInt32LE(at + 20))
    files.set(name, archive.readUInt16LE(at + 10) === 0 ? data : inflateRawSync(data))
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
  }
  return files
}

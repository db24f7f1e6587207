import { crc32, deflateRawSync } from 'node:zlib'

/** A file of an archive. */
export interface ZipEntry {
  /** With `/` between its parts, and none in front. */
  name: string
  content: Buffer
  isExecutable?: boolean
}

const fileHeader = 0x04_03_4b_50
const directoryHeader = 0x02_01_4b_50
const directoryEnd = 0x06_05_4b_50
const needed = 20
/** Names are UTF-8. */
const utf8Flag = 0x08_00
const deflated = 8
/** 1980-01-01, the first day there is: the same files make the same bytes. */
const date = 0x21
const mostBytes = 0xff_ff_ff_ff
const mostEntries = 0xff_ff

/**
 * A ZIP archive (PKWARE APPNOTE 6.3) of `entries` in their order, each deflated unless that makes it larger. Throws
 * `RangeError` for what would need ZIP64, and for a name that leaves the folder it is unpacked to.
 */
export function zipArchive(entries: readonly ZipEntry[]): Buffer {
  if (entries.length > mostEntries) throw new RangeError('too many files for an archive')
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const entry of entries) {
    const { local, central } = zipFile(entry, offset)
    files.push(local)
    directory.push(central)
    offset += local.length
    if (offset > mostBytes) throw new RangeError('too many bytes for an archive')
  }
  const end = Buffer.alloc(22)
  const length = directory.reduce((sum, { length: own }) => sum + own, 0)
  end.writeUInt32LE(directoryEnd, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, ...directory, end])
}

function zipFile(entry: ZipEntry, offset: number): { local: Buffer; central: Buffer } {
  const { content, isExecutable } = entry
  const name = Buffer.from(checkedName(entry.name), 'utf8')
  const packed = deflateRawSync(content, { level: 9 })
  const isPacked = packed.length < content.length
  const data = isPacked ? packed : content
  // Both headers have these fields, one after the other.
  const shared = Buffer.alloc(26)
  shared.writeUInt16LE(needed, 0)
  shared.writeUInt16LE(utf8Flag, 2)
  shared.writeUInt16LE(isPacked ? deflated : 0, 4)
  shared.writeUInt16LE(date, 8)
  shared.writeUInt32LE(crc32(content), 10)
  shared.writeUInt32LE(data.length, 14)
  shared.writeUInt32LE(content.length, 18)
  shared.writeUInt16LE(name.length, 22)
  const place = Buffer.alloc(14)
  // The mode of Unix, of a regular file, stands in the upper half of the external attributes.
  place.writeUInt32LE((isExecutable === true ? 0o100_755 : 0o100_644) * 0x1_00_00, 6)
  place.writeUInt32LE(offset, 10)
  return {
    local: Buffer.concat([word(fileHeader), shared, name, data]),
    // Made by Unix (3), or the mode would not be read.
    central: Buffer.concat([word(directoryHeader), Buffer.from([needed, 3]), shared, place, name]),
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function checkedName(name: string): string {
  const parts = name.split('/')
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..') && !name.includes('\\')
  if (!isInside || Buffer.byteLength(name) > mostEntries) {
    throw new RangeError(`${JSON.stringify(name)} cannot be the name of a file in an archive`)
  }
  return name
}

import { zipSync, type Zippable } from 'fflate'

/** A file of an archive. */
export interface ZipEntry {
  /** Parts are separated by `/`; none at the start. */
  name: string
  content: Buffer
  isExecutable?: boolean
}

const unix = 3
const maxNameBytes = 0xff_ff
/** The first day that the format supports, in local time as it requires: the same files make the same bytes. */
const firstDay = new Date(1980, 0, 1)

/** Creates a ZIP archive. Throws `RangeError` for a name that leaves the folder it is unpacked to. */
export function zipArchive(entries: readonly ZipEntry[]): Buffer {
  const files: Zippable = {}
  for (const { name, content, isExecutable } of entries) {
    // The mode of a regular file is in the upper half of the attributes.
    const attrs = (isExecutable === true ? 0o100_755 : 0o100_644) * 0x1_00_00
    files[checkedName(name)] = [content, { level: 9, mtime: firstDay, os: unix, attrs }]
  }
  return Buffer.from(zipSync(files))
}

function checkedName(name: string): string {
  const parts = name.split('/')
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..') && !name.includes('\\')
  if (!isInside || Buffer.byteLength(name) > maxNameBytes) {
    throw new RangeError(`${JSON.stringify(name)} cannot be the name of a file in an archive`)
  }
  return name
}

/**
 * Returns a library for Windows on x64 without code, whose one function is that of another library: its header, and the table of
 * exports, whose entry is the name of `target`, such as `advapi32.SystemFunction036`.
 */
export function forwardingDll(name: string, exported: string, target: string): Buffer {
  const image = Buffer.alloc(0x400)
  const [header, optional, sections, table] = [0x40, 0x58, 0x148, 0x200]
  const address = 0x1000
  const put = (at: number, ...values: number[]): void =>
    values.forEach((value, index) => void image.writeUInt32LE(value, at + 4 * index))
  image.write('MZ')
  put(0x3c, header)
  image.write('PE', header)
  // x64, one section, 240 bytes of optional header; a library of 64 bits that may lie anywhere.
  put(header + 4, 0x1_8664, 0, 0, 0, 0x2022_00f0)
  put(optional, 0x20b, 0, 0x200)
  // Where it would like to lie, how sections are aligned, and of which Windows it is.
  put(optional + 24, 0x8000_0000, 1, address, 0x200, 6, 0, 6)
  put(optional + 56, 2 * address, 0x200, 0, 0x160_0003)
  put(optional + 72, 0x10_0000, 0, address, 0, 0x10_0000, 0, address, 0, 0, 16)
  put(optional + 112, address, 0x200)
  image.write('.rdata', sections)
  put(sections + 8, 0x200, address, 0x200, table, 0, 0, 0, 0x4000_0040)
  // Forty bytes that say where the rest is, an entry in each of three lists, and the texts.
  let end = 52
  const text = (value: string): number => {
    const at = address + end
    end += image.write(`${value}\0`, table + end, 'latin1')
    return at
  }
  put(table + 12, text(name), 1, 1, 1, address + 40, address + 44, address + 48)
  put(table + 40, text(target), text(exported))
  return image
}

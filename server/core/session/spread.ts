/**
 * A number from 0 up to, not including, 1 that is always the same for `id` and evenly spread over many: so that what is
 * due at one moment for all of them is done at different moments. Not cryptographic.
 */
export function spreadOf(id: string): number {
  let hash = 0x811c9dc5
  // FNV-1a, whose high bits hardly know the last character: the two multiplications at the end stir them in.
  for (let index = 0; index < id.length; index += 1) {
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 0x1_0000_0000
}

import type { Runtime } from '@drawbridge/shared/runtime.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** A random version 4 UUID (RFC 9562 section 5.4) from the runtime's randomness. */
export function createUuid(runtime: Pick<Runtime, 'randomBytes'>): string {
  const bytes = Buffer.from(runtime.randomBytes(16))
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return formatUuid(bytes)
}

/** Sixteen bytes in the usual notation. */
export function formatUuid(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** Whether the text is a UUID in lower-case notation, of any version. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text)
}

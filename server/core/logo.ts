import type { DocumentReading } from './document.ts'

/** Every page carries the logo. */
const maxBytes = 32_768

/** An SVG document: what may come before its root, and the root. */
const svgStart =
  /^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--[\s\S]*?-->\s*|<!doctype\s+svg\b[^[>]*(?:\[[^\]]*\]\s*)?>\s*)*<svg[\s>]/i
const svgNamespace = 'http://www.w3.org/2000/svg'

/** Recognises an image by its content. An SVG may hold anything: as an image it runs no script and loads nothing. */
export function readLogo(bytes: Uint8Array, name: string): DocumentReading<string> {
  if (bytes.length > maxBytes) {
    const fault = `${name} has ${bytes.length} bytes; every page carries the logo, so ${maxBytes} are the most.`
    return { kind: 'faulty', faults: [fault] }
  }
  const buffer = Buffer.from(bytes)
  const type = typeOf(buffer)
  if (type === undefined)
    return { kind: 'faulty', faults: [`${name} is not an SVG, PNG, JPEG or WebP image.`] }
  return { kind: 'read', value: `data:${type};base64,${buffer.toString('base64')}` }
}

function typeOf(bytes: Buffer): string | undefined {
  const head = bytes.toString('latin1', 0, 12)
  if (head.startsWith('\u0089PNG\r\n\u001a\n')) return 'image/png'
  if (head.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg'
  if (/^RIFF[\s\S]{4}WEBP/.test(head)) return 'image/webp'
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  // Without its namespace a browser shows nothing.
  return svgStart.test(text) && text.includes(svgNamespace) ? 'image/svg+xml' : undefined
}

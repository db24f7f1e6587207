/** Text of a file without the byte order mark that may stand before it. */
export interface ConfigText {
  text: string
  mark: '' | '\uFEFF'
}

/** The text of a file in UTF-8. `undefined` for anything else: another encoding would be destroyed by writing it. */
export function decodeConfigText(bytes: Uint8Array): ConfigText | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return text.startsWith('\uFEFF') ? { text: text.slice(1), mark: '\uFEFF' } : { text, mark: '' }
  } catch {
    return undefined
  }
}

/** The inverse. */
export function encodeConfigText({ text, mark }: ConfigText): Buffer {
  return Buffer.from(mark + text, 'utf8')
}

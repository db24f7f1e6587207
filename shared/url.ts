/**
 * Returns whether `text` is an absolute URL, or where `base` is given a relative one. (In Node 20 and 22, URL.canParse
 * begins to say no to https://bücher.example once it has been called some thousand times.)
 */
export function isUrl(text: string, base?: string | URL): boolean {
  try {
    return new URL(text, base) instanceof URL
  } catch {
    return false
  }
}

/** The browser's message interface: the same in every browser, and synchronous. */
declare const chrome: { i18n: { getMessage(key: string, substitutions: string[]): string } }

/**
 * Returns the text `key` of `_locales`, in the browser's language or else in English, with `$1` and so on filled in.
 */
export function translate(key: string, ...substitutions: string[]): string {
  return chrome.i18n.getMessage(key, substitutions)
}

/** What of the browser's interface gives texts: the same in every browser, and nothing of it waits. */
declare const chrome: { i18n: { getMessage(key: string, substitutions: string[]): string } }

/** The text called `key` in `_locales`, in the browser's language, else in English; `$1` and so on are filled in. */
export function translate(key: string, ...substitutions: string[]): string {
  return chrome.i18n.getMessage(key, substitutions)
}

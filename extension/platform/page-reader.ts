import type { PageView } from '../core/ports.ts'

/**
 * Runs inside the page, so it must be self-contained and must not fail. From cookies and local storage it takes only
 * entries named like a session, or like one of `names` (including chunks `NAME.0` and so on), plus the address of the
 * first `<link rel="mcp-server">` in the head: nothing else leaves the page.
 */
export function readPage(names: readonly string[]): PageView {
  const isWanted = (name: string): boolean =>
    /^sb-.+-auth-token(?:\.\d+)?$/.test(name) ||
    names.some((wanted) => name === wanted || name.startsWith(`${wanted}.`))
  // A sandboxed page has neither, and throws.
  const attempt = <T>(read: () => T[]): T[] => {
    try {
      return read()
    } catch {
      return []
    }
  }
  return {
    cookies: attempt(() =>
      document.cookie.split('; ').flatMap((pair) => {
        const equals = pair.indexOf('=')
        const name = pair.slice(0, Math.max(equals, 0))
        return isWanted(name) ? [{ name, value: pair.slice(equals + 1) }] : []
      }),
    ),
    entries: attempt(() =>
      Object.keys(localStorage)
        .filter(isWanted)
        .map((key) => ({ key, value: localStorage.getItem(key) ?? '' })),
    ),
    announced: attempt(() => {
      const link = document.querySelector<HTMLLinkElement>('head > link[rel~="mcp-server" i]')
      return link ? [link.href] : []
    })[0],
  }
}

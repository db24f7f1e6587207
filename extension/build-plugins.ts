import { createHash } from 'node:crypto'
import type { Plugin } from 'vite'

/**
 * Leaves webextension-polyfill out of the packages, as no browser in the manifest needs it. Firefox has the interface
 * with promises itself, and so has Chromium, as `browser` in later releases and as `chrome` in all from 127 on; the
 * polyfill passes on the former and wraps the latter. It would add 10 kB to the popup. The extension works the same
 * without this plugin.
 */
export function nativeInterface(): Plugin {
  return {
    name: 'drawbridge:native-interface',
    enforce: 'pre',
    load: {
      filter: { id: /webextension-polyfill\/dist\/browser-polyfill\.js$/ },
      handler: () => 'export default globalThis.browser ?? globalThis.chrome',
    },
  }
}

/**
 * Inlines each page's style sheet, which saves a request before the first paint. The policy allows the styles by
 * hash, so it needs no `'unsafe-inline'`, and not even `'self'`.
 */
export function createInlineStyles() {
  const hashes = new Set<string>()
  return {
    plugin: (): Plugin => ({
      name: 'drawbridge:inline-styles',
      transformIndexHtml: {
        order: 'post',
        handler: (page, { bundle = {} }) =>
          page.replace(/<link rel="stylesheet"[^>]* href="\/([^"]+)">/g, (link, name: string) => {
            const asset = bundle[name]
            if (asset?.type !== 'asset') return link
            // Each page has its own sheet, so no other page needs it.
            delete bundle[name]
            const style = String(asset.source).trim()
            hashes.add(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
            return `<style>${style}</style>`
          }),
      },
    }),
    /** Adds exactly those styles to a content security policy. Call it after all pages are built. */
    allow: (policy: string): string =>
      hashes.size === 0
        ? policy
        : policy.replace("style-src 'self'", `style-src ${[...hashes].toSorted().join(' ')}`),
  }
}

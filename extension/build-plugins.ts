import { createHash } from 'node:crypto'
import type { ESTree, Plugin } from 'vite'

/**
 * Leaves webextension-polyfill out of the packages: in every browser that the manifest admits it has nothing to do. Firefox
 * has the interface with promises itself, and so has Chromium, as `browser` in later releases and as `chrome` in all from
 * 127 on; the polyfill hands over the one and wraps the other. That would be 10 kB of the popup. Without this plugin the
 * extension works the same.
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

/** Puts the style sheets of pages into the pages. */
export interface InlineStyles {
  plugin(): Plugin
  /** The policy, as it was given, with what allows those styles and no others. To be asked for after all pages are built. */
  allow(policy: string): string
}

/**
 * Writes each page's style sheet into the page: a request that the first paint would wait for. What may be applied is known
 * by its hash, so that the policy needs no `'unsafe-inline'`, and not even `'self'`.
 */
export function createInlineStyles(): InlineStyles {
  const hashes = new Set<string>()
  return {
    plugin: () => ({
      name: 'drawbridge:inline-styles',
      transformIndexHtml: {
        order: 'post',
        handler: (page, { bundle = {} }) =>
          page.replace(/<link rel="stylesheet"[^>]* href="\/([^"]+)">/g, (link, name: string) => {
            const asset = bundle[name]
            if (asset?.type !== 'asset') return link
            // Each page has a sheet of its own, so nobody else looks for it.
            delete bundle[name]
            const style = String(asset.source).trim()
            hashes.add(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
            return `<style>${style}</style>`
          }),
      },
    }),
    allow: (policy) =>
      hashes.size === 0
        ? policy
        : policy.replace("style-src 'self'", `style-src ${[...hashes].toSorted().join(' ')}`),
  }
}

/**
 * Writes the functions of a script as arrow functions: minified that is four per cent less of the popup, and the sources
 * keep the form that people read. They go to the top, so that they are there before anything runs, as declared ones are.
 * What an arrow cannot be stays: generators, and whatever says `this` or `arguments`.
 */
export function arrowFunctions(): Plugin {
  return {
    name: 'drawbridge:arrow-functions',
    renderChunk(code) {
      const { body } = this.parse(code)
      const start = body.findLast(({ type }) => type === 'ImportDeclaration')?.end ?? 0
      const arrows: string[] = []
      let others = ''
      let end = start
      for (const node of body) {
        const arrow = arrowOf(node, code)
        if (arrow === undefined) continue
        arrows.push(arrow)
        others += code.slice(end, node.start)
        end = node.end
      }
      if (arrows.length === 0) return null
      const declarations = `\nconst ${arrows.join(',\n')};\n`
      return { code: code.slice(0, start) + declarations + others + code.slice(end), map: null }
    },
  }
}

/** `name = (parameters) => { }` for a declared function that can be one. */
function arrowOf(node: ESTree.Statement | ESTree.Directive, code: string): string | undefined {
  if (node.type !== 'FunctionDeclaration' || node.generator || node.body === null) return undefined
  if (/\b(?:this|arguments)\b/.test(code.slice(node.start, node.end))) return undefined
  const [first] = node.params
  const parameters = first === undefined ? '' : code.slice(first.start, node.params.at(-1)?.end)
  const content = code.slice(node.body.start, node.body.end)
  return `${node.id?.name} = ${node.async ? 'async ' : ''}(${parameters}) => ${content}`
}

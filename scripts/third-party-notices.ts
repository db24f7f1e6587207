import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { Plugin } from 'rolldown'

interface Part {
  name: string
  version: string
  license: string
  text: string
}

/**
 * Writes `THIRD-PARTY-NOTICES.txt` next to a bundle: name, version, licence and licence text of every package with
 * code in it. Fails the build for a package without a licence text or an identifier, as its code could not be
 * redistributed.
 */
export function thirdPartyNotices(): Plugin {
  return {
    name: 'third-party-notices',
    generateBundle(_options, bundle) {
      const parts = new Map<string, Part>()
      for (const output of Object.values(bundle)) {
        for (const id of output.type === 'chunk' ? output.moduleIds : []) {
          const folder = packageFolder(id)
          if (folder !== undefined && !parts.has(folder)) parts.set(folder, readPart(folder))
        }
      }
      const sorted = [...parts.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
      this.emitFile({
        type: 'asset',
        fileName: 'THIRD-PARTY-NOTICES.txt',
        source: `This bundle holds code of these packages.\n${sorted.map(noticeOf).join('')}`,
      })
    },
  }
}

/** Returns the installed package of a module; undefined for modules of our own. */
function packageFolder(id: string): string | undefined {
  const mark = `${sep}node_modules${sep}`
  const start = id.lastIndexOf(mark)
  if (start === -1) return undefined
  let folder = dirname(id)
  while (folder.length > start + mark.length && !isNamedManifest(join(folder, 'package.json')))
    folder = dirname(folder)
  return folder
}

/** Some packages have nested manifests without a name, which only declare the module type of their folder. */
function isNamedManifest(path: string): boolean {
  return existsSync(path) && 'name' in (JSON.parse(readFileSync(path, 'utf8')) as object)
}

function readPart(folder: string): Part {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Partial<Part>
  const { name, version, license } = manifest
  const text = licenceText(folder)
  if (name === undefined || version === undefined || license === undefined || text === undefined)
    throw new Error(`${folder} is bundled and has no licence, or no file with its text.`)
  return { name, version, license, text }
}

/** Looks for a separate file, or the last part of the README. */
function licenceText(folder: string): string | undefined {
  const files = readdirSync(folder)
  const own = files.find((file) => /^licen[cs]e(?:[.-].*)?$/i.test(file))
  if (own !== undefined) return readFileSync(join(folder, own), 'utf8').trim()
  const readme = files.find((file) => /^readme(?:\.(?:md|markdown|txt))?$/i.test(file))
  const text = readme === undefined ? '' : readFileSync(join(folder, readme), 'utf8')
  const start = text.search(/^#+ *licen[cs]e/im)
  return start === -1 ? undefined : text.slice(start).trim()
}

function noticeOf({ name, version, license, text }: Part): string {
  return `\n${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`
}

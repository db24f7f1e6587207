import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'rolldown'

/** The installed package of a module, in whichever packages it is nested. */
const packageFolder = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/

/**
 * Writes `THIRD-PARTY-NOTICES.txt` next to a bundle: name, version, licence and licence text of every package with
 * code in it. Fails the build for a package without a licence text or an identifier, as its code could not be
 * redistributed.
 */
export function thirdPartyNotices(): Plugin {
  return {
    name: 'third-party-notices',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((output) =>
        output.type === 'chunk' ? output.moduleIds : [],
      )
      const folders = new Set(modules.flatMap((id) => packageFolder.exec(id) ?? []))
      const notices = [...folders].map(noticeOf).sort()
      this.emitFile({
        type: 'asset',
        fileName: 'THIRD-PARTY-NOTICES.txt',
        source: `This bundle holds code of these packages.\n${notices.join('')}`,
      })
    },
  }
}

function noticeOf(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const { name, version, license } = manifest as { name?: string; version?: string; license?: string }
  const text = licenceText(folder)
  if (name === undefined || version === undefined || license === undefined || text === undefined)
    throw new Error(`${folder} is bundled and has no licence, or no file with its text.`)
  return `\n${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`
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

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import rootManifest from '../../../package.json' with { type: 'json' }
import { createManifest } from '../../../extension/manifest.ts'
import manifest from '../../../extension/package.json' with { type: 'json' }
import { root } from './wxt-process.ts'

const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const pages = ['docs/extension.md', ...globSync('docs/store/*.md', { cwd: root })]
const { permissions = [], optional_host_permissions: hosts } = createManifest({
  isFirefox: true,
  key: undefined,
  geckoId: undefined,
})

/** Returns the first cells of the table after a heading. */
function firstCells(page: string, heading: string): string[] {
  const [, section = ''] = read(page).split(`## ${heading}\n`)
  const [table = ''] = section.split(/\n## /)
  return [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell).slice(1)
}

describe('the documents of the extension', () => {
  it('the documents of the extension name every permission that it has, and no other', () => {
    const named = permissions.map((name) => `\`${name}\``)
    expect(new Set(firstCells('docs/extension.md', 'Permissions'))).toEqual(
      new Set([...named, hosts?.map((host: string) => `\`${host}\``).join(', '), '`authenticationInfo`']),
    )
    for (const [page, heading] of [
      ['docs/store/chrome-web-store.md', 'Justification of each permission'],
      ['docs/store/firefox-add-ons.md', 'Permissions'],
    ] as const) {
      expect(firstCells(page, heading).sort(), page).toEqual([...named, 'host permissions (optional)'].sort())
    }
  })

  it.each(['en', 'de'])(
    'the documents list the extension in %s as the package does, in the length that the stores allow',
    (language) => {
      const texts = JSON.parse(read(`extension/public/_locales/${language}/messages.json`)) as Record<
        string,
        { message: string }
      >
      const short = texts['extensionDescription']?.message ?? ''
      expect(short.length).toBeGreaterThan(40)
      expect(short.length).toBeLessThanOrEqual(132)
      expect(read('docs/store/listing.md')).toContain(`> ${short}\n`)
    },
  )

  it.each(pages)('%s names only scripts that exist', (page) => {
    for (const [, script = '', workspace] of read(page).matchAll(/npm run ([a-z:]+)( -w extension)?/g)) {
      expect(workspace === undefined ? rootManifest.scripts : manifest.scripts).toHaveProperty([script])
    }
  })
})

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the repository. */
export const root: string = fileURLToPath(new URL('../..', import.meta.url))

/** Pages whose commands people type. */
export const pages: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'bridge/README.md',
  'llms.txt',
  'skills/drawbridge/SKILL.md',
  'server/README.md',
  ...globSync(['docs/**/*.md', 'examples/*/README.md', 'tests/provider-contract/README.md'], {
    cwd: root,
  }).toSorted(),
]

/** Why a block of commands is not run by a test. */
export const reasons = [
  'takes minutes',
  'two terminals',
  'tested elsewhere',
  'changes npm',
  'changes this machine',
  'exits with 1 until everything is there',
  'needs Docker',
  'needs a browser and a person',
  'needs a database of yours',
  'needs a project of yours',
  'needs a provider of yours',
  'needs a server of yours',
  'needs a token',
  'needs grants of yours',
  'needs the published package',
] as const

/** A fenced block of a page: what stands in the line before it in a comment, and its text without indentation. */
export interface Block {
  page: string
  line: number
  language: string
  /** `not run: REASON` and `file: NAME`, if there is one. */
  mark: { kind: 'not run' | 'file'; text: string } | undefined
  text: string
}

const fence = /^( *)(?:<!-- (not run|file): (.+?) -->\n\1)?```(\w*)\n(.*?)^\1```/gms

/** The fenced blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(fence)].map(
    ({ index, 1: indent = '', 2: kind, 3: said = '', 4: language = '', 5: body = '' }) => ({
      page,
      line: text.slice(0, index).split('\n').length,
      language,
      mark: kind === 'not run' || kind === 'file' ? { kind, text: said } : undefined,
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )
}

/** The commands of a block, each whole: lines that go on with a backslash are one. Comments at the end are taken off. */
export function commandsOf({ language, text }: Block): string[] {
  const lines = text.replaceAll('\\\n', '\\\u0000').split('\n')
  const given =
    language === 'console' ? lines.flatMap((line) => (line.startsWith('$ ') ? line.slice(2) : [])) : lines
  return given
    .map((line) =>
      line
        .replaceAll('\u0000', '\n')
        .replace(/\s+#\s.*$/, '')
        .trim(),
    )
    .filter((line) => line !== '' && !line.startsWith('#'))
}

/** What a `console` block says is printed. */
export function outputOf({ text }: Block): string {
  return text.replaceAll(/^\$ .*\n/gm, '')
}

/** Whether a block holds commands for a shell. */
export function isShell({ language }: Block): boolean {
  return language === 'sh' || language === 'console'
}

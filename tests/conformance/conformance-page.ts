import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { deviations } from './deviations.ts'
import { type DocumentName, documents, type Proof, readTitle } from './section.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const testFiles = '{shared,server,bridge,extension,tests}/**/*.test.ts'

/** The proof by the official suite of the Model Context Protocol, in addition to the tests. */
const suiteProof: Proof = {
  file: 'scripts/conformance.ts',
  title: 'passes every scenario that the official suite requires, through the gate',
  sections: [
    { document: 'MCP transport', section: 'Caching' },
    { document: 'MCP transport', section: 'MRTR' },
  ],
}

/** Finds every test title that names sections, in the source of the tests. A template stays as it is written there. */
export function findProofs(): Proof[] {
  const files = globSync(testFiles, { cwd: root, exclude: (path) => path.includes('node_modules') }).toSorted(
    (a, b) => a.localeCompare(b),
  )
  const proofs = files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(/(['"`])((?:\\.|(?!\1)[^\\\n])+)\1/g)].flatMap(([, , literal = '']) => {
      const read = readTitle(literal)
      return read ? [{ file, ...read }] : []
    })
  })
  return [...proofs, suiteProof]
}

/** Renders `docs/conformance.md` as Markdown. */
export function conformancePage(): string {
  const proofs = findProofs()
  const names = (Object.keys(documents) as DocumentName[]).filter((name) =>
    proofs.some(({ sections }) => sections.some(({ document }) => document === name)),
  )
  return `# Conformance

Written by \`npm run docs\` from the titles of the tests: a test whose title begins with a section, as in
\`RFC 6749 5.2: ...\`, fails when that rule is broken. ${names.length} documents, ${proofs.length} tests. Rules for clients alone are not listed.

## How to see it

- \`npm test\` runs every test. The cases in \`tests/conformance/negative-*.test.ts\` are requests that must be refused, each
  named after the section that refuses it, against the whole server.
- \`npm run conformance\` builds the server and runs the official suite of the Model Context Protocol against it:
  its \`authorization\` command at 2026-07-28, and its \`server\` command with every scenario that 2025-11-25 and 2026-07-28
  require, through the gate with a token of a real sign-in, and its \`client\` command through the bridge: with a local
  client of 2025-11-25 before servers of both revisions, and with one of 2026-07-28 before servers of 2026-07-28. A client
  of 2026-07-28 gets -32022 before a server of 2025-11-25. \`-- --json FILE\` writes the figures.

## Documents

${table(
  ['document', 'title', 'tests'],
  names.map((name) => [
    `[${name}](#${anchorOf(name)})`,
    documents[name],
    String(rowsOf(name, proofs).length),
  ]),
)}

## Deviations, on purpose

Rules that are not kept to the letter, why, and how to have the letter.

${table(
  ['sections', 'what is done', 'why', 'how to switch it off', 'shown by'],
  deviations.map(({ sections, what, why, off, test: [file, title] }) => [
    sections,
    what,
    why,
    off,
    `\`${file}\`: ${withoutTicks(title)}`,
  ]),
)}

${names
  .map(
    (name) =>
      `## ${headingOf(name)}\n\n${table(['section', 'what a test shows', 'test'], rowsOf(name, proofs))}`,
  )
  .join('\n\n')}
`
}

function rowsOf(name: DocumentName, proofs: readonly Proof[]): string[][] {
  return proofs
    .flatMap(({ file, title, sections }) =>
      sections
        .filter(({ document }) => document === name)
        .map(({ section }) => [section, withoutTicks(title), `\`${file}\``]),
    )
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b, 'en', { numeric: true }))
}

function headingOf(name: DocumentName): string {
  return `${name}: ${documents[name]}`
}

/** Returns a heading's anchor on GitHub and similar sites. */
function anchorOf(name: DocumentName): string {
  return headingOf(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')
}

function withoutTicks(text: string): string {
  return text.replaceAll('`', '')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

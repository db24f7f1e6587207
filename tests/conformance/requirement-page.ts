import type { Proof, RequirementDocument } from './requirement.ts'
import { deviations } from './requirements/deviations.ts'
import { requirementDocuments } from './requirements/documents.ts'

/** `docs/conformance.md` as Markdown, from the rows of all documents. */
export function conformancePage(): string {
  const rows = requirementDocuments.flatMap((document) => document.rows)
  const proofs = new Set(rows.map(({ test }) => test.join('\n')))
  return `# Conformance

Made by \`npm run docs\` from the tables in \`tests/conformance/requirements\`.

${requirementDocuments.length} documents, ${rows.length} rules, ${proofs.size} proofs. Each row has a rule in our words, the file that decides it, and a test
that fails when it is broken. \`tests/conformance/requirements.test.ts\` fails when a row names no file or no test that is
there, or when a negative case names a section without a row. A rule for clients alone has no row.

## How to see it

- \`npm test\` runs every proof. The cases in \`tests/conformance/negative-*.test.ts\` are requests that must be refused, each
  named after the section that refuses it, against the whole server.
- \`npm run conformance\` builds the server and runs the official suite of the Model Context Protocol against it:
  its \`authorization\` command at 2026-07-28, and its \`server\` command with every scenario that 2025-11-25 and 2026-07-28
  require, through the gate with a token of a real sign-in. \`-- --json FILE\` writes the figures. \`npm test\` runs them, too.
- \`npx vitest run tests/conformance\` runs both and nothing else, on a server that \`npm run build\` has made.

## Documents

${table(
  ['document', 'title', 'rules'],
  requirementDocuments.map(({ name, title, rows: own }) => [
    `[${name}](#${anchorOf({ name, title })})`,
    title,
    String(own.length),
  ]),
)}

## Deviations, on purpose

Rules that are not kept to the letter, why, and how to have the letter.

${table(
  ['sections', 'what is done', 'why', 'how to switch it off', 'shown by'],
  deviations.map(({ sections, what, why, off, test }) => [sections, what, why, off, proofText(test)]),
)}

${requirementDocuments.map(documentTable).join('\n\n')}
`
}

function documentTable(document: RequirementDocument): string {
  const rows = document.rows.map(({ section, rule, code, test }) => [
    section,
    rule,
    `\`${code}\``,
    proofText(test),
  ])
  return `## ${headingOf(document)}\n\n${table(['section', 'rule', 'decided in', 'proven by'], rows)}`
}

function headingOf({ name, title }: Pick<RequirementDocument, 'name' | 'title'>): string {
  return `${name}: ${title}`
}

/** How GitHub and alike name a heading. */
function anchorOf(document: Pick<RequirementDocument, 'name' | 'title'>): string {
  return headingOf(document)
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')
}

function proofText([file, title]: Proof): string {
  // A title made from a template is shown as it stands there.
  return `\`${file}\`: ${title.replaceAll('`', '')}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

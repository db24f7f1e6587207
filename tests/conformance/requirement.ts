/** One rule of a document that the server keeps. Paths are from the root of the repository. */
export interface Requirement {
  /** Section of the document, as its tests name it in their titles. */
  section: string
  /** The rule in our words. */
  rule: string
  /** The file that decides it. */
  code: string
  /** What proves it: a file of tests, and a piece of a title in it. */
  test: readonly [file: string, title: string]
}

/** A document and the rules of it that concern an authorization server or `/mcp`. */
export interface RequirementDocument {
  /** Its short name, with which titles of tests begin. */
  name: string
  title: string
  rows: readonly Requirement[]
}

/** The document and section that the title of a test begins with; undefined for another title. */
export function sectionOfTitle(title: string): { document: string; section: string } | undefined {
  const match =
    /^(RFC \d{4}|OAuth 2\.1|OpenID Connect Core|Fetch|CIMD|MCP auth|MCP|Spec) ([A-Z0-9][A-Za-z0-9.-]*)(?: and [A-Z0-9.]+)?: \S/.exec(
      title,
    )
  return match?.[1] === undefined || match[2] === undefined
    ? undefined
    : { document: match[1], section: match[2] }
}

/** All `documents` as Markdown, one table each. */
export function requirementTables(documents: readonly RequirementDocument[]): string {
  return documents
    .map(({ name, title, rows }) => {
      const lines = rows.map(
        ({ section, rule, code, test: [file, proof] }) =>
          `| ${[section, rule, `\`${code}\``, `\`${file}\`: ${proof}`].map((cell) => cell.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;')).join(' | ')} |`,
      )
      return [
        `## ${name}: ${title}`,
        '',
        '| section | rule | decided in | proven by |',
        '| --- | --- | --- | --- |',
        ...lines,
      ].join('\n')
    })
    .join('\n\n')
}

/** What proves a rule: a file of tests, and a piece of a title in it. The path is from the root of the repository. */
export type Proof = readonly [file: string, title: string]

/** One rule of a document that the server keeps. Paths are from the root of the repository. */
export interface Requirement {
  /** Section of the document, as its tests name it in their titles. */
  section: string
  /** The rule in our words. */
  rule: string
  /** The file that decides it. */
  code: string
  test: Proof
}

/** A document and the rules of it that concern an authorization server or `/mcp`. */
export interface RequirementDocument {
  /** Its short name, with which titles of tests begin. */
  name: DocumentName
  title: string
  rows: readonly Requirement[]
}

/** A rule that is deliberately not kept to the letter. */
export interface Deviation {
  /** Documents and sections that say otherwise. */
  sections: string
  /** What is done instead. */
  what: string
  why: string
  /** How an operator gets the letter of the rule. */
  off: string
  /** Shows that what is said here is what is done. */
  test: Proof
}

/** A name that titles may begin with, as in `RFC 6749 3.1: a scope twice`. */
export type DocumentName =
  | `RFC ${number}`
  | 'OAuth 2.1'
  | 'OpenID Connect Core'
  | 'CIMD'
  | 'MCP auth'
  | 'MCP transport'
  | 'MCP security'
  | 'Spec'

const titleForm =
  /^(RFC \d{4}|OAuth 2\.1|OpenID Connect Core|CIMD|MCP auth|MCP transport|MCP security|Spec) ([A-Z0-9][A-Za-z0-9.-]*): \S/

/**
 * The document and section that the title of a test begins with; undefined for a title of another form. Every title of a
 * negative case has this form.
 */
export function sectionOfTitle(title: string): { document: string; section: string } | undefined {
  const [, document, section] = titleForm.exec(title) ?? []
  return document === undefined || section === undefined ? undefined : { document, section }
}

/** A {@link Requirement} as it is written down. */
export type RequirementRow = readonly [section: string, rule: string, code: string, test: Proof]

/** The document with its rows. */
export function requirementDocument(
  name: DocumentName,
  title: string,
  rows: readonly RequirementRow[],
): RequirementDocument {
  return {
    name,
    title,
    rows: rows.map(([section, rule, code, test]) => ({ section, rule, code, test })),
  }
}

/** Documents that test titles may start with, as in `RFC 6749 3.1: a scope twice`, in the order of `docs/conformance.md`. */
export const documents = {
  Spec: 'MCP endpoint authentication',
  'MCP auth': 'Model Context Protocol 2026-07-28, Authorization',
  'MCP transport':
    'Model Context Protocol 2026-07-28 and earlier revisions, Streamable HTTP and base protocol',
  'MCP security': 'Model Context Protocol, Security Best Practices',
  'RFC 9700': 'Best Current Practice for OAuth 2.0 Security',
  'OAuth 2.1': 'The OAuth 2.1 Authorization Framework, draft 13',
  'RFC 6749': 'The OAuth 2.0 Authorization Framework',
  'RFC 6750': 'Bearer Token Usage',
  'RFC 7636': 'Proof Key for Code Exchange',
  'RFC 8252': 'OAuth 2.0 for Native Apps',
  'RFC 8707': 'Resource Indicators',
  'RFC 9207': 'Authorization Server Issuer Identification',
  'RFC 9728': 'OAuth 2.0 Protected Resource Metadata',
  'RFC 8414': 'OAuth 2.0 Authorization Server Metadata',
  'RFC 7591': 'Dynamic Client Registration',
  'RFC 7592': 'Dynamic Client Registration Management',
  CIMD: 'OAuth Client ID Metadata Document, draft 00',
  'RFC 7009': 'OAuth 2.0 Token Revocation',
  'RFC 7662': 'OAuth 2.0 Token Introspection',
  'RFC 8628': 'OAuth 2.0 Device Authorization Grant',
  'RFC 7521': 'Assertion Framework',
  'RFC 7523': 'JWT Profile for Client Authentication',
  'RFC 8725': 'JSON Web Token Best Current Practices',
  'RFC 7617': 'The Basic HTTP Authentication Scheme',
  'RFC 9110': 'HTTP Semantics',
  'RFC 8693': 'OAuth 2.0 Token Exchange',
  'RFC 9101': 'JWT-Secured Authorization Request',
  'RFC 9126': 'Pushed Authorization Requests',
  'OpenID Connect Core': 'OpenID Connect Core 1.0',
} as const

/** A name of {@link documents}. */
export type DocumentName = keyof typeof documents

/** A section of a document. */
export interface Section {
  document: DocumentName
  section: string
}

/** Proof that a rule is followed: a test file, by its path from the root of the repository, and the title of a test in it. */
export interface Proof {
  file: string
  /** Without the sections. */
  title: string
  sections: readonly Section[]
}

/** A rule that is deliberately not followed to the letter. */
export interface Deviation {
  /** The documents and sections it deviates from. */
  sections: string
  /** The actual behaviour. */
  what: string
  why: string
  /** How an operator can follow the rule to the letter. */
  off: string
  /** A test file and the end of a title in it, which prove this behaviour. */
  test: readonly [file: string, title: string]
}

const names = Object.keys(documents)
  .map((name) => name.replaceAll('.', String.raw`\.`))
  .join('|')
const oneSection = String.raw`(?:${names}) [A-Z0-9][A-Za-z0-9.-]*`
const titleForm = new RegExp(`^(${oneSection}(?:, ${oneSection})*): (\\S.*)$`, 's')

/**
 * Returns the sections that a title starts with, as in `RFC 6749 5.2, OAuth 2.1 3.2.4: no cache keeps it`, and the rest of it;
 * undefined for a title without any.
 */
export function readTitle(text: string): { sections: Section[]; title: string } | undefined {
  const [, sections, title] = titleForm.exec(text) ?? []
  if (sections === undefined || title === undefined) return undefined
  return { sections: sections.split(', ').map(readSection), title }
}

function readSection(text: string): Section {
  const at = text.lastIndexOf(' ')
  return { document: text.slice(0, at) as DocumentName, section: text.slice(at + 1) }
}

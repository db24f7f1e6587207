import { type RequirementDocument, sectionOfTitle } from '../requirement.ts'
import {
  bearer,
  issuerIdentification,
  resourceIndicators,
  resourceMetadata,
  serverMetadata,
} from './bearer-and-resource.ts'
import { clientDocuments } from './client-documents.ts'
import { mcpAuth } from './mcp-auth.ts'
import { mcpSecurity } from './mcp-security.ts'
import { mcpTransport } from './mcp-transport.ts'
import { nativeApps, pkce } from './native-clients.ts'
import { httpSemantics, openidConnect, pushedRequests, requestObjects, tokenExchange } from './neighbours.ts'
import { oauth20 } from './oauth-2-0.ts'
import { oauth21 } from './oauth-2-1.ts'
import { assertions, basic, jwtAssertions, jwtPractice } from './proof-of-client.ts'
import { registration, registrationManagement } from './registration.ts'
import { securityPractice } from './security-practice.ts'
import { spec } from './spec.ts'
import { deviceGrant, introspection, revocation } from './token-endpoints.ts'

/** Every document whose rules are kept, in the order of `docs/conformance.md`. */
export const requirementDocuments: readonly RequirementDocument[] = [
  spec,
  mcpAuth,
  mcpTransport,
  mcpSecurity,
  securityPractice,
  oauth21,
  oauth20,
  bearer,
  pkce,
  nativeApps,
  resourceIndicators,
  issuerIdentification,
  resourceMetadata,
  serverMetadata,
  registration,
  registrationManagement,
  clientDocuments,
  revocation,
  introspection,
  deviceGrant,
  assertions,
  jwtAssertions,
  jwtPractice,
  basic,
  httpSemantics,
  tokenExchange,
  requestObjects,
  pushedRequests,
  openidConnect,
]

const listed = new Set(
  requirementDocuments.flatMap(({ name, rows }) => rows.map(({ section }) => `${name} ${section}`)),
)

/** Whether the section that the title of a test begins with has a row. False also for a title of another form. */
export function isListed(title: string): boolean {
  const of = sectionOfTitle(title)
  return of !== undefined && listed.has(`${of.document} ${of.section}`)
}

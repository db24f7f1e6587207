import type { Proof } from '../requirement.ts'

/** Names a proof in `file` by a piece of its title. */
export type ProofIn = (title: string) => Proof

const proofIn =
  (file: string): ProofIn =>
  (title) => [file, title]

/** Proofs in the tables of negative cases, which run against the whole server. */
export const negative = {
  authorization: proofIn('tests/conformance/negative-authorization.test.ts'),
  client: proofIn('tests/conformance/negative-client.test.ts'),
  device: proofIn('tests/conformance/negative-device.test.ts'),
  introspection: proofIn('tests/conformance/negative-introspection.test.ts'),
  refresh: proofIn('tests/conformance/negative-refresh.test.ts'),
  registration: proofIn('tests/conformance/negative-registration.test.ts'),
  resource: proofIn('tests/conformance/negative-resource.test.ts'),
  revocation: proofIn('tests/conformance/negative-revocation.test.ts'),
  token: proofIn('tests/conformance/negative-token.test.ts'),
} as const

/** Proofs of good requests against the whole server. */
export const flow: ProofIn = proofIn('tests/conformance/sign-in-flow.test.ts')

/** Proofs of the wire of 2026-07-28 against the whole server. */
export const transport: ProofIn = proofIn('tests/conformance/transport.test.ts')

/** Proofs beside the decisions. */
export const core = (name: string, title: string): Proof => [`server/core/${name}.test.ts`, title]

/** Proofs beside the endpoints. */
export const http = (name: string, title: string): Proof => [`server/http/${name}.test.ts`, title]

/** Proofs beside the MCP endpoint. */
export const mcp = (name: string, title: string): Proof => [`server/mcp/${name}.test.ts`, title]

/** Proofs beside what client and server share. */
export const shared = (name: string, title: string): Proof => [`shared/${name}.test.ts`, title]

/** Proofs by built servers and unmodified clients. */
export const e2e = (name: string, title: string): Proof => [`tests/e2e/${name}.test.ts`, title]

/** Proofs of what the edge of the server does. */
export const edge = (name: string, title: string): Proof => [`server/${name}.test.ts`, title]

import { z } from 'zod'
import { findUsers, type GrantFacts, listGrants } from '../core/operator/grant-list.ts'
import { revokeGrant, revokeGrantsOf } from '../core/operator/grant-revocation.ts'
import type { Grant } from '../core/session/grant.ts'
import type { Report } from '../observability/log.ts'
import {
  type AdminOperation,
  adminOperation,
  AdminRefusal,
  limitParameter,
  seconds,
  switchParameter,
  textParameter,
} from './admin-operation.ts'

const userDoc = "the user's id at the session provider, or an email address"

// Each fact that is sent is described.
const grantSchema = z.object({
  id: z.string(),
  sub: z.string().describe("the user's id at the session provider"),
  email: z.string().optional().describe('as of the sign-in'),
  client_id: z.string(),
  client_name: z.string().optional().describe("the client's own name for itself"),
  scope: z.string(),
  created_at: seconds('when the user allowed it'),
  last_used_at: seconds('the last use, up to ten minutes out of date').optional(),
  last_address: z.string().optional().describe('the address of the last use'),
  last_tool: z.string().optional().describe('the tool that was called last'),
  two_addresses: z
    .object({
      addresses: z.tuple([z.string(), z.string()]).readonly(),
      at: seconds('the last time'),
    })
    .optional()
    .describe('two addresses that used it at the same time'),
  expires_at: seconds('when it ends; for a waiting one, when it can no longer be fetched'),
  state: z.enum(['live', 'waiting', 'expired', 'ended']),
  ended_at: seconds('when it ended early').optional(),
  end_reason: z.string().optional(),
} satisfies Record<keyof GrantFacts, z.ZodType>)

const revokedSchema = z.object({
  revoked: z.int().describe('number of grants ended; 0 if they had already ended'),
  grants: z.array(z.string()).describe('their ids'),
})

export const grantOperations: readonly AdminOperation[] = [
  adminOperation({
    id: 'listGrants',
    method: 'GET',
    path: '/grants',
    summary: 'Lists grants by id.',
    input: z.strictObject({
      user: textParameter(`only those of one user: ${userDoc}`).optional(),
      client: textParameter('only those of the client with this id').optional(),
      all: switchParameter('include ended ones that are not deleted yet'),
      after: z.string().default('').describe('`next` of the previous page'),
      limit: limitParameter,
    }),
    result: {
      description: 'One page of grants. `next` is missing on the last one.',
      schema: z.object({ grants: z.array(grantSchema), next: z.string().optional() }),
    },
    refusals: {},
    handle: ({ user, client, all, after, limit }, { store, providerIssuer, runtime }) =>
      listGrants({ user, client, all }, { after, limit }, { store, providerIssuer, runtime }),
  }),
  adminOperation({
    id: 'revokeGrant',
    method: 'DELETE',
    path: '/grants/{id}',
    summary: 'Ends one grant. Its tokens are refused from the next request on.',
    input: z.strictObject({ id: textParameter('the id of the grant') }),
    result: { description: 'The grant has ended, now or earlier.', schema: revokedSchema },
    refusals: { 404: 'Unknown grant.' },
    async handle({ id }, { store, runtime, report }) {
      const ended = await revokeGrant(id, store, runtime.now())
      if (!ended) throw new AdminRefusal(404, `There is no grant ${JSON.stringify(id)}.`)
      for (const grant of ended) reportRevoked(grant, report)
      return revokedFacts(ended)
    },
  }),
  adminOperation({
    id: 'revokeGrantsOfUser',
    method: 'DELETE',
    path: '/users/{user}/grants',
    summary: 'Ends all grants of a user. Their tokens are refused from the next request on.',
    input: z.strictObject({ user: textParameter(userDoc) }),
    result: {
      description: 'The grants have ended. A user without any is not an error.',
      schema: revokedSchema,
    },
    refusals: {},
    async handle({ user }, { store, providerIssuer, runtime, report }) {
      const owners = await findUsers(user, { store, providerIssuer, runtime })
      const ended: Grant[] = []
      for await (const grant of revokeGrantsOf(owners, store, runtime.now())) {
        reportRevoked(grant, report)
        ended.push(grant)
      }
      return revokedFacts(ended)
    },
  }),
]

function reportRevoked({ id, clientId, user }: Grant, report: Report): void {
  report('admin_grant_revoked', { grant_id: id, client_id: clientId, sub: user.sub })
}

function revokedFacts(ended: readonly Grant[]): { revoked: number; grants: string[] } {
  return { revoked: ended.length, grants: ended.map(({ id }) => id) }
}

import { describe, expect, it } from 'vitest'
import { grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { overviewOf } from './connection.ts'
import { documentHost } from '../clients/client-id-metadata-document.ts'
import type { GrantEndReason, GrantRecord } from './grant.ts'

const day = 86_400

function record(name: string, part: Partial<GrantRecord> = {}): GrantRecord {
  const unused = { lastUse: undefined, twoAddresses: undefined, replays: undefined }
  return { grant: grantSample(name).grant, ...unused, end: undefined, ...part }
}

function endedBy(reason: GrantEndReason, at = start): GrantRecord {
  return record(reason, { end: { at, reason } })
}

describe('live connections', () => {
  it.each([
    [30 * day - 1, 1],
    [30 * day, 0],
  ])('a connection %i s after its sign-in is live or not: %i', (after, count) => {
    expect(overviewOf([record('a')], start + after).live).toHaveLength(count)
  })

  it('a grant that ended is not a live connection', () => {
    expect(overviewOf([endedBy('revoked_by_user')], start + 1).live).toEqual([])
  })

  it('connections are ordered by their last use, or their sign-in if never used', () => {
    const used = (name: string, usedAt: number): GrantRecord =>
      record(name, { lastUse: { usedAt, address: undefined, tool: undefined } })
    const records = [used('old', start - 10), record('unused'), used('new', start + 10)]
    expect(overviewOf(records, start + 20).live.map(({ grant }) => grant.id)).toEqual([
      'grant new',
      'grant unused',
      'grant old',
    ])
  })
})

describe('connections that ended by themselves', () => {
  it.each<[reason: GrantEndReason, end: string | undefined]>([
    ['refresh_token_reuse', 'key_used_twice'],
    ['code_reuse', 'key_used_twice'],
    ['provider_session_ended', 'signed_out_elsewhere'],
    ['provider_refresh_refused', 'renewal_refused'],
    ['access_rule', 'not_allowed'],
    ['revoked_by_user', undefined],
    ['revoked_by_client', undefined],
    ['revoked_by_operator', undefined],
    ['client_removed', undefined],
  ])('the owner of a connection that ended by %s reads %s', (reason, end) => {
    expect(overviewOf([endedBy(reason)], start + 1).ended.map((each) => each.end)).toEqual(
      end === undefined ? [] : [end],
    )
  })

  it.each([
    [30 * day - 1, 1],
    [30 * day, 0],
  ])('%i s after a connection ended, its owner sees this many: %i', (after, count) => {
    expect(overviewOf([endedBy('code_reuse')], start + after).ended).toHaveLength(count)
  })

  it('connections that ended are listed newest first', () => {
    const records = [endedBy('code_reuse', start), endedBy('refresh_token_reuse', start + 5)]
    expect(overviewOf(records, start + 6).ended.map(({ endedAt }) => endedAt)).toEqual([start + 5, start])
  })
})

it.each([
  [{ id: 'https://claude.ai/client.json', kind: 'metadata_document' }, 'claude.ai'],
  [{ id: 'https://claude.ai:8443/client.json', kind: 'metadata_document' }, 'claude.ai:8443'],
  [{ id: 'https://claude.ai/client.json' }, 'claude.ai'],
  [{ id: 'https://claude.ai/client.json', kind: 'configured' }, undefined],
  [{ id: 'https://claude.ai/client.json', kind: 'registered' }, undefined],
  [{ id: 'mcpc_abc', kind: 'registered' }, undefined],
  [{ id: 'mcpc_abc' }, undefined],
  [{ id: 'https://' }, undefined],
] as const)('the host that a client id proves: %j: %s', (client, host) =>
  expect(documentHost(client)).toBe(host),
)

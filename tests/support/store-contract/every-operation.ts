import type { Store } from '../../../server/core/store.ts'
import {
  addGrant,
  grantSample,
  nextSession,
  rotationTerms,
  secondFactorSample,
  start,
  successorSample,
} from '../server/core/grant-sample.ts'
import { clientSample } from './clients.ts'
import { deviceSample } from './devices.ts'
import { socialSignInSample } from './social-sign-ins.ts'

/** Runs every operation at least once; all its names start with `name`. */
export async function useEverything(store: Store, name: string): Promise<void> {
  const replay = rotationTerms(start)
  await store.addClient({ ...clientSample, id: name })
  await store.findClient(name)
  await store.putClient({ ...clientSample, id: name })
  await store.replaceClient({ ...clientSample, id: name })
  await store.keepClient(name, start + 100_000)
  await store.listClients({ after: name, limit: 3 })
  // Compares all unused registrations, once a minute and only when there are too many.
  if (name === 'first') await store.trimClients(100, 4, start)
  await store.removeClient(`none ${name}`)
  await store.addDevice(deviceSample(name))
  await store.findDevice(`user code ${name}`, start)
  await store.pollDevice(`device ${name}`, 5, start)
  await store.decideDevice(`device ${name}`, 'approved', start)
  await store.addSocialSignIn(socialSignInSample(name, name), 5)
  await store.listSocialSignIns(name, start)
  await store.removeSocialSignIn(name)
  for (const [id, signOut] of [
    ['f', true],
    ['g', false],
  ] as const) {
    await store.addSecondFactor(secondFactorSample(`${id} ${name}`))
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await store.attemptSecondFactor({ id: `${id} ${name}`, bindingHash: 'binding', max: 1 }, start)
    }
    await store.removeSecondFactor(`${id} ${name}`, signOut, start)
  }
  const { windowEndsAt } = await store.countAttempt(name, 60, start)
  await store.returnAttempt(name, windowEndsAt)
  await store.proveWritable()
  const { code, grant, session, tokens } = await addGrant(store, grantSample(name))
  await store.findAuthorizationCode(code.codeHash)
  const waiting = grantSample(`waits ${name}`)
  await store.addAuthorizationCode(waiting.code, waiting.session)
  await store.listUnredeemedCodes({ userId: waiting.grant.user.id }, { now: start, limit: 3 })
  await store.listUnredeemedCodes({ clientId: waiting.grant.clientId }, { now: start, limit: 3 })
  await store.listUnredeemedCodes(undefined, { now: start, limit: 3 })
  await store.expireCode(waiting.code.codeHash, start)
  await store.redeemAuthorizationCode(code.codeHash, tokens, start)
  await store.findAccessToken(tokens.accessHash, start)
  await store.changeGrant({ grantId: grant.id, from: grant, to: { ...grant, scope: 'mcp' } }, start)
  await store.removeAccessToken(`none ${name}`)
  await store.findRefreshToken(tokens.refreshHash)
  await store.rotateRefreshToken(tokens.refreshHash, successorSample(`${name} 2`), replay)
  await store.rotateRefreshToken(tokens.refreshHash, successorSample(`${name} 3`), replay)
  await store.findGrantByFamily(`family ${name}`)
  await store.recordFirstUse(`access ${name} 2`, start)
  await store.findProviderSession(grant.id)
  const owner = { grantId: grant.id, owner: 'one' }
  await store.leaseProviderSession({ ...owner, version: 1, until: start + 15 }, start)
  await store.releaseProviderSession({ ...owner, outcomeKnown: true, refusedAt: start })
  await store.recordProviderRenewal(`issuer ${name}`, start)
  await store.findProviderRenewal(`issuer ${name}`)
  await store.saveProviderSession(nextSession(session))
  const twoAddresses = { addresses: ['192.0.2.1', '192.0.2.2'], at: start } as const
  await store.recordGrantUses([
    { grantId: grant.id, usedAt: start, address: '192.0.2.1', tool: 'whoami', twoAddresses },
  ])
  await store.findGrant(grant.id)
  await store.findUsers('ann@example.com')
  for (const number of [7, 100_007]) {
    const page = { after: 'g', limit: 3 }
    await store.listGrants(undefined, page)
    await store.listGrants({ userId: `u${number}` }, page)
    await store.listGrants({ clientId: `c${number}` }, page)
    await store.endGrants({ userId: `u${number}` }, 'revoked_by_user', { now: start, limit: 3 })
    await store.endGrants({ clientId: `c${number}` }, 'client_removed', { now: start, limit: 3 })
  }
  await store.endRefusedSession({ grantId: grant.id, version: 9 }, 'provider_session_ended', start)
  await store.endGrant(grant.id, 'code_reuse', start)
  await store.postponeSignOut(grant.id, start + 1)
  await store.removeSignOut(grant.id)
  await store.claimSignOuts({ limit: 3, until: start + 60 }, start + 5)
  await store.listSealingKeys()
  await store.listSessionsSealedWith('k', { after: '', limit: 3 })
  // A few of each table.
  for (let round = 0; round < 8; round += 1) await store.collectExpired(start + 10, 4)
}

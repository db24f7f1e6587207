import { describe } from 'vitest'
import { limitCases } from './limit-cases.ts'
import { secondFactorCases } from './second-factor-cases.ts'
import { sessionCases } from './session-cases.ts'
import { socialCases } from './social-cases.ts'
import { ssoCases } from './sso-cases.ts'
import { describeOnServers, type MakeDriver, type ServerChoice } from './stage.ts'
import { tokenCases } from './token-cases.ts'

/**
 * Runs every case of the contract with one client. `servers`: the embedded provider comes in several variants, and
 * clients with the same core need not run with all of them.
 */
export function describeProviderContract(title: string, servers: ServerChoice, makeDriver: MakeDriver): void {
  describeOnServers(title, { servers, makeDriver }, (stage) => {
    describe('a session', () => sessionCases(stage))
    describe('a second factor', () => secondFactorCases(stage))
    describe('a social sign-in', () => socialCases(stage))
    describe('single sign-on', () => ssoCases(stage))
    describe('an access token', () => tokenCases(stage))
    describe('a limit', () => limitCases(stage))
  })
}

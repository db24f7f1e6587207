import { describe } from 'vitest'
import { limitCases } from './limit-cases.ts'
import { secondFactorCases } from './second-factor-cases.ts'
import { sessionCases } from './session-cases.ts'
import { socialCases } from './social-cases.ts'
import { describeOnServers, type MakeDriver } from './stage.ts'
import { tokenCases } from './token-cases.ts'

/** Every case of the contract, with one client, at each server. */
export function describeProviderContract(title: string, makeDriver: MakeDriver): void {
  describeOnServers(title, makeDriver, (stage) => {
    describe('a session', () => sessionCases(stage))
    describe('a second factor', () => secondFactorCases(stage))
    describe('a social sign-in', () => socialCases(stage))
    describe('an access token', () => tokenCases(stage))
    describe('a limit', () => limitCases(stage))
  })
}

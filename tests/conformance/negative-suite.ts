import { afterAll, beforeAll, describe, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import { type NegativeCase, playCase } from './negative-case.ts'

/** Declares the rows of each table as tests, all against one Drawbridge, which they leave usable. */
export function describeCases(tables: Readonly<Record<string, readonly NegativeCase[]>>): void {
  let drawbridge: DrawbridgeFixture
  beforeAll(async () => {
    drawbridge = await startDrawbridge({ registrationLimit: '10000', signInLimit: '10000' })
  })
  afterAll(() => drawbridge.close())

  describe.each(Object.entries(tables))('%s', (_what, cases) => {
    it.each(cases)('$title', (each) => playCase(each, drawbridge))
  })
}

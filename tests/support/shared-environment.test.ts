import { programVariables } from '@drawbridge/shared/settings/program-variables.ts'
import { unknownVariables } from '@drawbridge/shared/settings/read-settings.ts'
import { expect, it } from 'vitest'
import { settings as bridgeSettings } from '../../bridge/config/setting-table.ts'
import { settings as serverSettings } from '../../server/config/setting-table.ts'

it('each program knows every variable of both', () => {
  const names = (settings: readonly { variable: string }[]): string[] =>
    settings.map(({ variable }) => variable).toSorted()
  const { server, bridge } = programVariables
  expect(server.toSorted()).toEqual(names(serverSettings))
  expect(bridge.toSorted()).toEqual(names(bridgeSettings))
})

it('the programs share no variable, and ignore those of each other', () => {
  const all = Object.values(programVariables).flat()
  expect(new Set(all).size).toBe(all.length)
  const environment = Object.fromEntries([...all, 'TOKENS'].map((name) => [`DRAWBRIDGE_${name}`, 'x']))
  expect(unknownVariables('server', environment)).toEqual(['DRAWBRIDGE_TOKENS: there is no such setting.'])
  expect(unknownVariables('bridge', environment)).toEqual([
    'DRAWBRIDGE_TOKENS: there is no such setting. Did you mean DRAWBRIDGE_TOKEN?',
  ])
  expect(unknownVariables('server', { XDRAWBRIDGE_TOKENS: 'x', drawbridge_tokens: 'x' })).toEqual([])
})

import { expect, it } from 'vitest'
import { settings as bridgeSettings } from '../../bridge/config/setting-table.ts'
import { bridgeVariables } from '../../shared/settings/program-variables.ts'
import { readSettings } from '../../server/config/setting-source.ts'

it('the server knows every variable of the bridge, and leaves it alone', () => {
  expect([...bridgeVariables].toSorted()).toEqual(bridgeSettings.map(({ variable }) => variable).toSorted())
  const environment = Object.fromEntries([...bridgeVariables].map((name) => [`DRAWBRIDGE_${name}`, 'x']))
  expect(readSettings({}, environment).problems).toEqual([])
  expect(readSettings({}, { DRAWBRIDGE_TOKENS: 'x' }).problems).toHaveLength(1)
})

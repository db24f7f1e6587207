import { afterAll, beforeAll, describe } from 'vitest'
import { bridgeCases } from './bridge-cases.ts'
import { cloneCases } from './clone-cases.ts'
import { heldCases } from './held-cases.ts'
import { installCases } from './install-cases.ts'
import { installInWindows } from './installed.ts'
import { mcpbCases } from './mcpb-cases.ts'
import { serverCases } from './server-cases.ts'
import { findWine, startWindows, type Windows } from './wine.ts'

const wine = findWine()
let windows: Windows

describe.skipIf(wine === undefined)('in Windows', { timeout: 90_000 }, () => {
  beforeAll(async () => {
    if (wine === undefined) return
    windows = await startWindows(wine)
    await installInWindows(windows, ['bridge', 'server'])
  }, 240_000)
  afterAll(() => windows?.close())

  bridgeCases(() => windows)
  installCases(() => windows)
  heldCases(() => windows)
  mcpbCases(() => windows)
  serverCases(() => windows)
  cloneCases(() => windows)
})

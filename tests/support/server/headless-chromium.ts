import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launch, type Browser } from 'puppeteer-core'
import { findProgram, skipWithout } from '../find-program.ts'

/** What every Chromium of the tests is started with: it has no sandbox, and asks no server of its own. */
export const chromiumFlags: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/**
 * Path of the Chromium to test with: CHROMIUM_BIN, or else `chromium` on PATH, or else undefined. Prints one line
 * when there is none, and throws instead when CI=true. Does not check that the file is really a browser.
 */
export function findChromium(): string | undefined {
  const found = process.env['CHROMIUM_BIN'] || findProgram('chromium')
  if (!found) skipWithout('no Chromium found: set CHROMIUM_BIN or install the apt package `chromium`')
  return found
}

/** Runs `work` with a headless Chromium and an empty profile, and always closes and removes both. */
export async function withChromium<Result>(
  executablePath: string,
  work: (browser: Browser) => Promise<Result>,
): Promise<Result> {
  const running = await startChromium(executablePath)
  try {
    return await work(running.browser)
  } finally {
    await running.close()
  }
}

/** A started browser. */
export interface RunningChromium {
  browser: Browser
  close: () => Promise<void>
}

// Media queries about input devices would otherwise depend on the machine.
const pointing = {
  none: 'primaryHoverType=1,availableHoverTypes=1,primaryPointerType=1,availablePointerTypes=1',
  mouse: 'primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
} as const

/**
 * Starts a headless Chromium with an empty temporary profile; the caller closes it, which removes the profile. Tests
 * can click without a mouse, but pages do not wait for hovering.
 */
export async function startChromium(
  executablePath: string,
  device: keyof typeof pointing = 'none',
): Promise<RunningChromium> {
  const userDataDir = mkdtempSync(join(tmpdir(), 'drawbridge-chromium-'))
  const removeProfile = () => rmSync(userDataDir, { recursive: true, force: true, maxRetries: 5 })
  try {
    const browser = await launch({
      executablePath,
      userDataDir,
      headless: true,
      args: [...chromiumFlags, `--blink-settings=${pointing[device]}`],
    })
    return {
      browser,
      close: async () => {
        await browser.close()
        removeProfile()
      },
    }
  } catch (error) {
    removeProfile()
    throw error
  }
}

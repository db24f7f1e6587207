import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtExtension } from './built-extension.ts'
import { startChromium } from './chromium.ts'
import { findBrowser } from './find-browser.ts'
import { startFirefox } from './firefox.ts'
import { startObservingProxy } from './observing-proxy.ts'
import type { BrowserKind, TestBrowser } from './test-browser.ts'

const browserKinds: readonly BrowserKind[] = ['chromium', 'firefox']

/** Returns the available browsers. Reports missing ones, or throws when CI=true. */
export function browsersAtHand(): BrowserKind[] {
  return browserKinds.filter((kind) => findBrowser(kind) !== undefined)
}

/**
 * Starts a browser with the built extension. `hosts` maps names to ports of this computer (`*.NAME` is everything
 * below NAME); other hosts except localhost and 127.0.0.1 are unreachable. `builds` replaces the default build
 * folder.
 */
export async function launchBrowser(
  kind: BrowserKind,
  options: { hosts?: ReadonlyMap<string, number>; display?: string; builds?: string } = {},
): Promise<TestBrowser> {
  const executablePath = findBrowser(kind)
  if (executablePath === undefined) throw new Error(`There is no ${kind} to test with.`)
  const { hosts = new Map(), builds, ...rest } = options
  const { folder: extension, geckoId } = builtExtension(kind, builds)
  const profile = mkdtempSync(join(tmpdir(), `drawbridge-${kind}-`))
  const proxy = await startObservingProxy(hosts)
  const cleanUp = async (): Promise<void> => {
    await proxy.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  const common = { executablePath, profile, extension, proxy: proxy.address, requests: proxy.requests }
  try {
    const browser = await (kind === 'chromium'
      ? startChromium({ ...common, ...rest })
      : startFirefox({ ...common, geckoId }))
    return {
      ...browser,
      async close() {
        await browser.close()
        await cleanUp()
      },
    }
  } catch (error) {
    await cleanUp()
    throw error
  }
}

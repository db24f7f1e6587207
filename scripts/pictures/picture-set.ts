import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'puppeteer-core'

/** Replaces the folder `name` below `screenshots` with what `take` puts into an empty one, once it is complete. */
export async function replacePictures(name: string, take: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'drawbridge-screenshots-'))
  try {
    await take(folder)
    const target = fileURLToPath(new URL(`../../screenshots/${name}`, import.meta.url))
    rmSync(target, { recursive: true, force: true })
    cpSync(folder, target, { recursive: true })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits for the end of all animations. Changing the colour scheme starts transitions of every colour; some cancel others. */
export async function settle(page: Page): Promise<void> {
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))')
}

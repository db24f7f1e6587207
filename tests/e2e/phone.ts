import type { Browser, Page } from 'puppeteer-core'

/** For tests with a browser: a busy machine is slow to draw. */
export const patienceMs = 90_000

/** A browser with the window size of a phone, used by keyboard only. */
export interface Phone {
  page: Page
  open(url: string): Promise<void>
  /** Moves the focus to `selector` with the tab key. Throws if it does not get there. */
  tabTo(selector: string): Promise<void>
  type(text: string): Promise<void>
  /** Inserts the text into the focused field at once, like a phone keyboard's suggestion. */
  insert(text: string): Promise<void>
  /** Like {@link Phone.insert}, replacing the field's content. */
  replace(text: string): Promise<void>
  /** Presses Enter, and waits for the page that follows. */
  enter(): Promise<void>
  /** Returns the visible text of the page, with blanks collapsed. */
  text(): Promise<string>
  heading(): Promise<string>
  close(): Promise<void>
}

/** Opens a {@link Phone}. Every visited page must fit the width of its window. */
export async function openPhone(browser: Browser, { scripts }: { scripts: boolean }): Promise<Phone> {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  await page.setViewport({ width: 360, height: 740, isMobile: true, hasTouch: true })
  // Animations are redrawn constantly, without a graphics card.
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }])
  await page.setJavaScriptEnabled(scripts)
  const isFocused = async (selector: string): Promise<boolean> =>
    (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) === true
  const checkWidth = async (): Promise<void> => {
    const width = await page.$eval('html', ({ scrollWidth }) => scrollWidth)
    if (width > 360) throw new Error(`${await page.title()} is ${width} pixels wide.`)
  }
  const phone: Phone = {
    page,
    async open(url) {
      await page.goto(url)
      await checkWidth()
    },
    async tabTo(selector) {
      for (let presses = 0; presses < 30; presses += 1) {
        if (await isFocused(selector)) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`The tab key never comes to ${selector} of ${await page.title()}.`)
    },
    type: (text) => page.keyboard.type(text),
    insert: (text) => page.keyboard.sendCharacter(text),
    async replace(text) {
      await page.keyboard.down('Control')
      await page.keyboard.press('KeyA')
      await page.keyboard.up('Control')
      await phone.insert(text)
    },
    async enter() {
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
      await checkWidth()
    },
    text: async () => (await page.$eval('main', (main) => main.innerText)).replaceAll(/\s+/g, ' '),
    heading: () => page.$eval('h1', (heading) => heading.innerText),
    close: () => context.close(),
  }
  return phone
}

/** Signs in on the login page that the phone shows. */
export async function signInOn(
  phone: Phone,
  { email, password }: { email: string; password: string },
): Promise<void> {
  await phone.tabTo('input[name=email]')
  await phone.insert(email)
  await phone.tabTo('input[name=password]')
  await phone.insert(password)
  await phone.enter()
}

// Draws the icons of the browser extension from the product's mark: extension/public/icon/SIZE.png.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { markIconUrl } from '../server/http/pages/drawings.ts'
import { findChromium, withChromium } from '../tests/support/server/headless-chromium.ts'

const folder = fileURLToPath(new URL('../extension/public/icon', import.meta.url))

/** The mark as a separate picture, in a green that suits light and dark toolbars, without the margin for text. */
const mark = decodeURIComponent(markIconUrl.slice(markIconUrl.indexOf(',') + 1)).replace(
  'viewBox="0 0 32 32"',
  'viewBox="2.5 2.5 27 27"',
)

/** The mark for stores: bright on a dark plate, with the required margin. */
const plate = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 128 128">
  <rect x="8" y="8" width="112" height="112" rx="26" fill="#10302d"/>
  ${mark.replace('<svg', '<svg x="27" y="25" width="76" height="76"').replace('#1f8f7b', '#8ce0c9')}
</svg>`

const chromium = findChromium()
if (chromium !== undefined) {
  await withChromium(chromium, async (browser) => {
    const page = await browser.newPage()
    for (const size of [16, 32, 48, 96, 128]) {
      await page.setViewport({ width: size, height: size })
      await page.setContent(`<style>html,body{margin:0}svg{display:block}</style>${size < 48 ? mark : plate}`)
      await page.screenshot({ path: join(folder, `${size}.png`), omitBackground: true })
    }
  })
}

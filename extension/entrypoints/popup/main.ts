import { createPopup } from '../../core/popup/popup.ts'
import type { PopupView } from '../../core/popup/popup-view.ts'
import { createBrowser } from '../../platform/browser.ts'
import { translate } from '../../platform/translate.ts'
import { render } from '../../ui/render.ts'

let shown: PopupView = { kind: 'loading' }

const popup = createPopup(createBrowser(), (view) => {
  shown = view
  draw()
  // When that was is what `npm run timing` reads.
  performance.mark(view.kind)
})

function draw(): void {
  render(document.body, shown, (action) => void popup.act(action), translate)
}

// Opened as a page in a tab, it may be as high as it likes.
if (location.hash) document.body.className = 'page'
// What it asks the browser for is on its way while the page is drawn.
void popup.start()
draw()
setInterval(draw, 1000)
addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') close()
})

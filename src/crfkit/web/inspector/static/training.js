// A training as it runs: the server sends a picture whenever something is new.
const place = document.getElementById("live");
if (place) {
  const source = new EventSource(place.dataset.events);
  source.addEventListener("training", (event) => {
    const { picture, state } = JSON.parse(event.data);
    place.innerHTML = picture;
    document.getElementById("live-state").textContent = state;
  });
  addEventListener("pagehide", () => source.close());
}

"""The pure protocol core: frames, ticks, requests and route views in; effects out."""

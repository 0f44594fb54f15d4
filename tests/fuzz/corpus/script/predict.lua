measure(modes[2]) measure(modes[4]) remeasure(safe)
roofline.fit({ measure(modes[2]) })
predict.transfer()
